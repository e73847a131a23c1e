// Package e2e drives the program as its users do: it builds it once and speaks to one daemon through the command line and
// through the terminal client on a pseudo terminal, while a scripted model server answers. It holds tests only.
package e2e
