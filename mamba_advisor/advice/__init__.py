"""From a boot and a workload to advice."""
