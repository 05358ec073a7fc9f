"""What a fleet's live cluster says: which workloads are ready, and what exactly keeps the others from it.

`api` connects, `watch` looks once or waits, `diagnosis` turns what was read into a `fleet.Status` for each
workload, `logs` reads what a container wrote. Nothing here changes anything on the cluster.
"""
