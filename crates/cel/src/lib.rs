//! Evaluates the validation rules that schemas of custom resources carry.
