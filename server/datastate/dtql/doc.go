// Package dtql reads DTQL: a YAML (or JSON) document that stands for one read-only, structured query. It parses text to a
// tree of plain values, validates it, binds params, and writes it back in a canonical form. It knows no database.
package dtql
