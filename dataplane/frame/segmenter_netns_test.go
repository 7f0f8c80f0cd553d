package frame

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
)

// notSentWhole are GSO frames that the kernel refuses, or of which a socket does not hold all segments.
var notSentWhole = []string{"two tags", "smallest segments"}

// The Segmenter agrees with the kernel: a GSO frame leaves an interface without offloads, where the kernel segments it,
// and the far end receives octet by octet the Segmenter's frames.
func TestSegmenterAgreesWithTheKernel(t *testing.T) {
	near, far := vethPair(t)
	buffer := make([]byte, 70000)
	for _, tt := range gsoShapes {
		if slices.Contains(notSentWhole, tt.name) {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			whole, v := tt.build(t)
			header := make([]byte, VnetHeaderOctets)
			v.Encode(header)
			assert.MustNoError(t, unix.Send(near, append(header, whole...), 0), "send")
			for i, want := range cut(t, whole, v) {
				n, err := unix.Read(far, buffer)
				assert.MustNoError(t, err, "segment %d", i)
				equalOctets(t, fmt.Sprint("segment ", i), untagged(tt.shape, want), buffer[:n])
			}
		})
	}
}

// CompleteChecksum agrees with the kernel, which completes the checksums itself on an interface without checksum
// offload.
func TestCompleteChecksumAgreesWithTheKernel(t *testing.T) {
	near, far := vethPair(t)
	buffer := make([]byte, 2048)
	for name, s := range unfinishedShapes {
		b, network, transport := s.build(t)
		v := s.unfinish(b, network, transport)
		header := make([]byte, VnetHeaderOctets)
		v.Encode(header)
		assert.MustNoError(t, unix.Send(near, append(header, b...), 0), "%s: send", name)
		n, err := unix.Read(far, buffer)
		assert.MustNoError(t, err, "%s", name)
		assert.MustBeTrue(t, CompleteChecksum(b, v), "%s: refused", name)
		equalOctets(t, name, untagged(s, b), buffer[:n])
	}
}

// untagged returns a frame of shape s without its tag, which the kernel moves into metadata.
func untagged(s shape, b []byte) []byte {
	if len(s.tags) > 0 {
		return b[removeTag(b, 0):]
	}
	return b
}

// vethPair returns packet sockets at both ends of a veth pair in a network namespace of its own. The near socket takes
// a virtio header before each frame, and its interface has no offloads. The namespace goes with the sockets.
func vethPair(t *testing.T) (near, far int) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	origin := assert.Got(netns.Get()).Must(t)
	defer origin.Close()
	namespace, err := netns.New()
	if err == nil {
		defer namespace.Close()
		defer func() { assert.Must(t, netns.Set(origin)) }()
		err = netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "near"}, PeerName: "far"})
	}
	if err != nil && os.Getenv("REQUIRE_NETNS") == "1" {
		t.Fatalf("cannot make a namespace with a veth pair, and REQUIRE_NETNS=1 asks for it: %v", err)
	} else if err != nil {
		t.Skipf("needs a namespace with a veth pair (root, or unshare -Urn): %v", err)
	}
	near, far = endpoint(t, "near", 0), endpoint(t, "far", unix.ETH_P_ALL)
	awaitCarrier(t, "near")
	assert.Must(t, unix.SetsockoptInt(near, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1))
	checksumOffloadOff(t, near, "near")
	return near, far
}

// endpoint sets the interface up, quietly, and binds a socket to it.
func endpoint(t *testing.T, name string, protocol uint16) int {
	t.Helper()
	link := assert.Got(netlink.LinkByName(name)).Must(t)
	// where there is no IPv6, all is well
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0)
	assert.Must(t, netlink.LinkSetUp(link))
	fd := assert.Got(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)).Must(t)
	t.Cleanup(func() { unix.Close(fd) })
	order := binary.BigEndian.AppendUint16(nil, protocol)
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: link.Attrs().Index,
		Protocol: binary.NativeEndian.Uint16(order)}); err != nil {
		t.Fatal(err)
	}
	assert.Must(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20))
	assert.Must(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5}))
	return fd
}

// awaitCarrier waits until frames sent to the interface are no longer discarded: the kernel notices the carrier with
// some delay.
func awaitCarrier(t *testing.T, name string) {
	t.Helper()
	for range 500 {
		if link, err := netlink.LinkByName(name); err == nil && link.Attrs().OperState == netlink.OperUp {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s has no carrier", name)
}

// checksumOffloadOff does ethtool -K name tx off, which takes segmentation offload with it.
func checksumOffloadOff(t *testing.T, fd int, name string) {
	t.Helper()
	value := struct{ command, data uint32 }{command: unix.ETHTOOL_STXCSUM}
	request := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		rest [16]byte
	}{data: unsafe.Pointer(&value)}
	copy(request.name[:], name)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	assert.MustBeTrue(t, errno == 0, "ethtool -K %s tx off: %v", name, errno)
}
