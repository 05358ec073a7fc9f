"""What the Kubernetes objects of every component have in common as Pulumi resources."""

import pulumi

from components.admission import explained


def child_options(name: str, parent: pulumi.Resource, *, ready: str, deleted: str) -> pulumi.ResourceOptions:
    """Options of a component's objects.

    name: of the component.
    ready, deleted: how long creating or updating one, and deleting it, may take, such as "5m".
    """
    return pulumi.ResourceOptions(
        parent=parent,
        custom_timeouts=pulumi.CustomTimeouts(create=ready, update=ready, delete=deleted),
        hooks=explained(f"{name}-{type(parent).__name__}"),
        delete_before_replace=True,  # the names are fixed, so two can't exist at once
    )
