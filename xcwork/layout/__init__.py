"""Where labels lie on the label map: their vectors, two dimensions made of them, and regions with names."""
