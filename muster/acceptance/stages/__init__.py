"""The stages of an acceptance run, in order: static, local, pairs, group."""
