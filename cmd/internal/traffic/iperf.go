package traffic

import (
	"encoding/json"
	"errors"
	"fmt"
)

// An IperfReport has the totals of an iperf3 client.
type IperfReport struct {
	Octets        uint64  // of payload that the server received
	Rate          float64 // of their arrival, in bit/s
	Retransmitted uint64  // segments, by the client's kernel
	Streams       int
}

// ParseIperf reads what iperf3 -c prints with -J. It returns iperf3's own error, and one where nothing arrived.
func ParseIperf(text []byte) (IperfReport, error) {
	var r struct {
		Error string
		End   struct {
			Streams []struct{}
			Sent    struct{ Retransmits uint64 } `json:"sum_sent"`
			Receive struct {
				Bytes uint64
				Rate  float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		}
	}
	switch err := json.Unmarshal(text, &r); {
	case err != nil:
		return IperfReport{}, fmt.Errorf("report of iperf3: %w", err)
	case r.Error != "":
		return IperfReport{}, fmt.Errorf("iperf3: %s", r.Error)
	case r.End.Receive.Bytes == 0 || r.End.Receive.Rate <= 0:
		return IperfReport{}, errors.New("iperf3: nothing was received")
	}
	return IperfReport{r.End.Receive.Bytes, r.End.Receive.Rate, r.End.Sent.Retransmits, len(r.End.Streams)}, nil
}
