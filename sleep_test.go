package tray_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A test that sleeps until something ought to be ready fails on a busy machine and wastes time on a quiet one. Package
// timetest waits for what shall be, lets fake time pass, and pauses where a reason is given.
func TestNoTestSleeps(t *testing.T) {
	files, timed := token.NewFileSet(), 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != ".", entry.IsDir() && entry.Name() == "timetest":
			return filepath.SkipDir
		case entry.IsDir() || !isOfTests(path):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "time" {
				timed++
				if selector.Sel.Name == "Sleep" {
					t.Errorf("%s sleeps: server/servertest/timetest has Until, Pass and Pause", files.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if timed == 0 {
		t.Error("no test uses package time: the search finds nothing")
	}
}

// isOfTests reports whether a file is a test, or belongs to a package that helps tests.
func isOfTests(path string) bool {
	return strings.HasSuffix(path, "_test.go") ||
		strings.HasSuffix(path, ".go") && strings.HasSuffix(filepath.Base(filepath.Dir(path)), "test")
}
