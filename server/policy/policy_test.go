package policy_test

import (
	"testing"

	"chatwright.dev/tray/server/policy"
)

func TestOnlyTheNamedOnesAreValid(t *testing.T) {
	for _, m := range policy.SandboxModes() {
		if !m.Valid() {
			t.Errorf("%q: got invalid", m)
		}
	}
	for _, p := range policy.ApprovalPolicies() {
		if !p.Valid() {
			t.Errorf("%q: got invalid", p)
		}
	}
	for _, word := range []string{"", "READ-ONLY", "none", "never ", "readonly"} {
		if policy.SandboxMode(word).Valid() || policy.ApprovalPolicy(word).Valid() {
			t.Errorf("%q: got valid", word)
		}
	}
}

func TestOneCombinationAloneIsUnguarded(t *testing.T) {
	for _, m := range policy.SandboxModes() {
		for _, p := range policy.ApprovalPolicies() {
			want := m == policy.FullAccess && p == policy.AskNever
			if got := policy.Unguarded(m, p); got != want {
				t.Errorf("%s and %s: got %v, want %v", m, p, got, want)
			}
		}
	}
}
