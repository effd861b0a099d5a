"""The program that lies on the node: the tools of the vendors. Standard library only."""
