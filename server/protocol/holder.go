package protocol

// Holder is a source of data that was configured by name. What it is reached with is said nowhere.
type Holder struct {
	Name   string     `json:"name"`
	Kind   HolderKind `json:"kind"`
	Reach  Reach      `json:"reach"`
	Detail string     `json:"detail,omitempty"` // why it is down
}

// HolderKind is a kind of Holder.
type HolderKind string

// The kinds of holders.
const (
	HolderFixtures HolderKind = "fixtures" // recorded answers, from a file
	HolderSQLite   HolderKind = "sqlite"
	HolderPostgres HolderKind = "postgres"
	HolderMySQL    HolderKind = "mysql" // MariaDB too
)

// Holders is the answer of GET /datastate/holders, by name.
type Holders struct {
	Holders []Holder `json:"holders"`
}
