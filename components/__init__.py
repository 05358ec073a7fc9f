"""What runs on a cluster, as Pulumi components: a `Fleet` and its parts.

Each module has the arguments of a component, pure builders of the Kubernetes objects, and the component.
The Kubernetes provider always comes with the options, from the parent; none is made here.
"""
