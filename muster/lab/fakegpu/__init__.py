"""Stubs of the vendors' tools, baked into the image."""
