"""Tables for people: CSV, Markdown, LaTeX, HTML, the terminal."""
