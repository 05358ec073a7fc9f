"""How a machine gets what envfleet needs: tools, a container engine and images, all under `.envfleet/`."""
