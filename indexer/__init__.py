"""From corpus files to a searchable index: records, chunks, vectors and terms."""
