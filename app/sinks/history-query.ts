/** How many changes the page shows: the server, the list and the form ask for the same ones, in one query. */
export const CHANGES_SHOWN = 30
