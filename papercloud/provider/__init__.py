"""A stand-in for `pulumi-resource-aws`: the engine talks to it, it talks to the paper cloud."""
