/** How many changes are asked for: the server, the list and the form ask for the same ones, in one query. */
export const CHANGES_READ = 100
/** How many of them are listed. */
export const CHANGES_SHOWN = 30
