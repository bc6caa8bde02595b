"""From a question, a kernel, a GPU and a profiler report to a ranked, cited, budgeted answer."""
