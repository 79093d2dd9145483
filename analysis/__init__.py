"""The paper's tables and figures, made from finished runs by calling fairq; no model of its own."""
