"""Deep-MIML and EAGLE's co-attention: a neural network that learns from bags of instances with common labels."""

from xcwork.methods.deep_miml.method import DeepMIML

__all__ = ["DeepMIML"]
