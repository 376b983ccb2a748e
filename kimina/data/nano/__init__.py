"""The nano task: theorems that a 0.7M-parameter model can learn to prove on a CPU."""
