// Package policy names what an agent may do on the machine, and when it must ask: types that the control socket, the
// settings and the sessions share.
package policy

import "slices"

// SandboxMode bounds what tools may touch.
type SandboxMode string

// The modes, from the tightest to none. The zero value is no mode; whoever reads one decides what stands for it.
const (
	ReadOnly       SandboxMode = "read-only"          // files are read, nothing is written, nothing leaves the machine
	WorkspaceWrite SandboxMode = "workspace-write"    // files are written in the workspace alone
	FullAccess     SandboxMode = "danger-full-access" // whatever the user may do
)

// SandboxModes is every mode, the tightest first.
func SandboxModes() []SandboxMode { return []SandboxMode{ReadOnly, WorkspaceWrite, FullAccess} }

// Valid reports whether m is one of the modes.
func (m SandboxMode) Valid() bool { return slices.Contains(SandboxModes(), m) }

// ApprovalPolicy says when the user is asked before a tool runs.
type ApprovalPolicy string

// The policies, from the one that asks most.
const (
	AskAlways    ApprovalPolicy = "untrusted"  // before everything that is not known to be harmless
	AskOnRequest ApprovalPolicy = "on-request" // when the sandbox would have to be left
	AskNever     ApprovalPolicy = "never"      // what the sandbox does not allow fails
)

// ApprovalPolicies is every policy, the most careful first.
func ApprovalPolicies() []ApprovalPolicy { return []ApprovalPolicy{AskAlways, AskOnRequest, AskNever} }

// Valid reports whether p is one of the policies.
func (p ApprovalPolicy) Valid() bool { return slices.Contains(ApprovalPolicies(), p) }

// Unguarded reports whether the two together leave nothing between an agent and the machine: no sandbox, and nobody
// is asked.
func Unguarded(m SandboxMode, p ApprovalPolicy) bool { return m == FullAccess && p == AskNever }
