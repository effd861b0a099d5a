"""muster: GPU clusters as code, every node and link proved before they are called ready."""

__version__ = "0.1.0"
