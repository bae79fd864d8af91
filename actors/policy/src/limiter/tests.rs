//! Rows of flow 8.4, with a line of calls that the gate keeps in real life.
