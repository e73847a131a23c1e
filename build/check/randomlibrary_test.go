package check_test

import (
	"bytes"
	"encoding/binary"
)

// randomLibrary is the bcryptprimitives.dll that Windows has since version 8 and the wine of Debian 12 has not: Go
// takes its random numbers from there. It has no code, only one name that leads on to the function with which older
// Windows does the same.
func randomLibrary() []byte {
	const (
		address   = 0x1000 // of the one section, once it is loaded
		alignment = 0x200  // in the file
		pageSize  = 0x1000
		directory = 40 // bytes of an export directory
	)
	le := binary.LittleEndian
	library, name, target := "bcryptprimitives.dll\x00", "ProcessPrng\x00", "advapi32.SystemFunction036\x00"
	functions := uint32(address + directory)
	texts := functions + 4 + 4 + 2 + 2 // behind the tables of functions, names and ordinals, and two bytes of nothing

	// The export directory: one function, which is a text, so it leads on to another library.
	section := make([]byte, 0, alignment)
	section = append(section, make([]byte, 12)...) // flags, time, version
	for _, value := range []uint32{
		texts, 1, 1, 1, // name of the library; first ordinal; one function, one name
		functions, functions + 4, functions + 8, // tables
		texts + uint32(len(library)+len(name)), // the table of functions
		texts + uint32(len(library)),           // the table of names
		0,                                      // the table of ordinals
	} {
		section = le.AppendUint32(section, value)
	}
	section = append(section, library+name+target...)
	used := uint32(len(section))

	var file bytes.Buffer
	put := func(values ...any) {
		for _, value := range values {
			_ = binary.Write(&file, le, value) // into memory, of values of fixed size
		}
	}
	file.WriteString("MZ")
	file.Write(make([]byte, 58))
	put(uint32(64)) // where the header is
	file.WriteString("PE\x00\x00")
	put(uint16(0x8664), uint16(1), make([]byte, 12), uint16(240), uint16(0x2022))                      // x64, one section, a library
	put(uint16(0x20b), uint16(14), uint32(0), uint32(alignment), uint32(0), uint32(0), uint32(0x1000)) // 64 bits, no entry point
	put(uint64(0x180000000), uint32(pageSize), uint32(alignment), uint16(6), make([]byte, 6), uint16(6), make([]byte, 6))
	put(uint32(2*pageSize), uint32(alignment), uint32(0), uint16(3), uint16(0x0140)) // sizes; relocatable anywhere
	put(uint64(0x100000), uint64(0x1000), uint64(0x100000), uint64(0x1000), uint32(0), uint32(16))
	put(uint32(address), used, make([]byte, 15*8)) // directories: exports, and fifteen empty ones
	file.WriteString(".rdata\x00\x00")
	put(used, uint32(address), uint32(alignment), uint32(alignment), make([]byte, 12), uint32(0x40000040)) // read only
	file.Write(make([]byte, alignment-file.Len()))
	file.Write(section)
	file.Write(make([]byte, 2*alignment-file.Len()))
	return file.Bytes()
}
