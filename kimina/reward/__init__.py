"""The reward: format checks on a model's output, and the value that they and Lean's verdict give."""
