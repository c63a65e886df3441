/** Raised with every change of SCHEMA; a file with a higher one is refused. */
export const SCHEMA_VERSION = 1

/** Rowid tables: the key's index is small, and an insight is found and replaced in place. */
export const SCHEMA = `
  CREATE TABLE resources (
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    mesh TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    modified_at INTEGER NOT NULL,
    writer TEXT NOT NULL,
    instance TEXT NOT NULL,
    labels TEXT NOT NULL,
    spec TEXT NOT NULL,
    status TEXT,
    owner_id INTEGER REFERENCES resources (id) ON DELETE CASCADE,
    UNIQUE (type, mesh, name)
  ) STRICT;
  CREATE INDEX resources_by_owner ON resources (owner_id) WHERE owner_id IS NOT NULL;
  CREATE TABLE versions (highest INTEGER NOT NULL) STRICT;
  INSERT INTO versions VALUES (0)`
