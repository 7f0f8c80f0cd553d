// Package mapping makes tables outside the Go heap. They grow without being copied.
package mapping

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Grow gives a table n entries. New entries are zero; where n is smaller than before, the last entries go. The kernel
// moves the pages of the table instead of copying them, and takes memory for a page when it is first touched. On error
// the table stays as it was. T must have no pointers.
func Grow[T any](table []T, n int) ([]T, error) {
	var b []byte
	var err error
	if octets := n * sizeOf[T](); table == nil {
		b, err = unix.Mmap(-1, 0, octets, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	} else {
		b, err = unix.Mremap(octetsOf(table), octets, unix.MREMAP_MAYMOVE)
	}
	if err != nil {
		return table, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// Free releases the table and returns nil, or on error the table.
func Free[T any](table []T) ([]T, error) {
	if table == nil {
		return nil, nil
	}
	if err := unix.Munmap(octetsOf(table)); err != nil {
		return table, err
	}
	return nil, nil
}

func octetsOf[T any](table []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(table))), len(table)*sizeOf[T]())
}

func sizeOf[T any]() int {
	var entry T
	return int(unsafe.Sizeof(entry))
}

// Huge asks the kernel for large pages, where it has some.
func Huge(table []byte) { _ = unix.Madvise(table, unix.MADV_HUGEPAGE) }
