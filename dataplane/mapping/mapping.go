// Package mapping holds tables outside the Go heap, which grow without being copied.
package mapping

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Grow gives a table n entries: those that it has and entries of zeros, or, where there are fewer of them, the first n.
// It lies outside the Go heap, where the kernel moves its pages instead of copying them, and finds a page for it when
// it is first touched. On error the table is what it was. T must be without pointers.
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

// Free returns nothing in place of the table, or on error the table.
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
