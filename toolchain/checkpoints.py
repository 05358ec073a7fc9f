"""Names that whoever starts Pulumi without checkpoints shares with the program that Pulumi runs."""

# Pulumi's own: "true" saves the state once, at the end, instead of at each step.
SKIP = "PULUMI_SKIP_CHECKPOINTS"
# The file to make when the program must not go on without them.
REFUSAL = "ENVFLEET_REFUSAL"
