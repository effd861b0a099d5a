"""One lab for the node software: its tests share it, so that it converges once."""
