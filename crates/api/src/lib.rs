//! Every kind that Netloom serves, its schema, and the rules that its objects keep.
