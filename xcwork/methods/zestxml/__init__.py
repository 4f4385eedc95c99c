"""ZestXML: a sparse bilinear model that predicts labels it has never seen and can say exactly why."""

from xcwork.methods.zestxml.method import ZestXML

__all__ = ["ZestXML"]
