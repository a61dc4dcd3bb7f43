"""The read path: expressions to a plan, tasks, kernels and a frame."""
