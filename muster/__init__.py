"""muster: bring up GPU clusters as code, and prove every node and link before they are called ready."""

__version__ = "0.1.0"
