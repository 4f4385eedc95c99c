"""SiameseXML: documents and labels share one encoder, and every label has a classifier that starts from its text."""

from xcwork.methods.siamesexml.method import SiameseXML

__all__ = ["SiameseXML"]
