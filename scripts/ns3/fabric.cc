// A dumbbell or a fat tree in ns-3: point-to-point links, drop-tail queues, UDP. The same frames as `pfcswitch sim` has
// them in the files that compare.sh writes. Prints frames sent, received and dropped, frame-hops and CPU seconds.
//
//   fabric dumbbell PAIRS RATE_OF_EACH BOTTLENECK QUEUE_FRAMES SECONDS
//   fabric fat-tree K RATE_OF_EACH SPEED QUEUE_FRAMES SECONDS
//
// Rates are bit/s on an Ethernet wire, with preamble and gap. A point-to-point link of ns-3 adds a header of 2 octets
// instead of Ethernet's 42 around IP (header, tag, FCS, preamble, gap), so the UDP payload is 40 octets longer.

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

static const uint32_t kWire = 1542;                   // octets of a frame of 1518 on an Ethernet wire
static const uint32_t kPayload = kWire - 2 - 20 - 8;  // UDP payload that takes as many octets of an ns-3 link
static uint64_t hops = 0;
static uint64_t dropped = 0;

static void Hop(Ptr<const Packet>) { hops++; }
static void Drop(Ptr<const Packet>) { dropped++; }

struct Links {
  PointToPointHelper p2p;
  Ipv4AddressHelper addresses{"10.0.0.0", "255.255.255.252"};

  // Join returns the address of a.
  Ipv4Address Join(Ptr<Node> a, Ptr<Node> b, uint64_t speed, uint32_t queue) {
    p2p.SetDeviceAttribute("DataRate", DataRateValue(DataRate(speed)));
    p2p.SetDeviceAttribute("Mtu", UintegerValue(1600));  // no fragments
    p2p.DisableFlowControl();                            // a full queue drops by itself, without FqCoDel before it
    p2p.SetChannelAttribute("Delay", TimeValue(NanoSeconds(50)));
    p2p.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queue)));
    NetDeviceContainer d = p2p.Install(a, b);
    for (uint32_t i = 0; i < 2; i++) {
      d.Get(i)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&Hop));
      DynamicCast<PointToPointNetDevice>(d.Get(i))->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&Drop));
    }
    Ipv4InterfaceContainer c = addresses.Assign(d);
    addresses.NewNetwork();
    return c.GetAddress(0);
  }
};

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "fabric dumbbell|fat-tree N RATE SPEED QUEUE_FRAMES SECONDS\n");
    return 2;
  }
  const bool tree = std::string(argv[1]) == "fat-tree";
  const uint32_t n = std::atoi(argv[2]), queue = std::atoi(argv[5]);
  const uint64_t rate = std::strtoull(argv[3], nullptr, 10), speed = std::strtoull(argv[4], nullptr, 10);
  const double seconds = std::atof(argv[6]);
  // Otherwise all packets of a switch would take the first of its equal ways.
  Config::SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue(tree));
  NodeContainer hosts, switches;
  InternetStackHelper internet;
  Links links;
  std::vector<Ipv4Address> at;
  if (tree) {
    const uint32_t half = n / 2, edges = n * half, cores = half * half;
    hosts.Create(edges * half);
    switches.Create(2 * edges + cores);
    internet.Install(hosts);
    internet.Install(switches);
    for (uint32_t h = 0; h < hosts.GetN(); h++)
      at.push_back(links.Join(hosts.Get(h), switches.Get(h / half), speed, queue));
    for (uint32_t e = 0; e < edges; e++)
      for (uint32_t j = 0; j < half; j++)
        links.Join(switches.Get(e), switches.Get(edges + e / half * half + j), speed, queue);
    for (uint32_t a = 0; a < edges; a++)
      for (uint32_t j = 0; j < half; j++)
        links.Join(switches.Get(edges + a), switches.Get(2 * edges + a % half * half + j), speed, queue);
  } else {
    hosts.Create(2 * n);
    switches.Create(2);
    internet.Install(hosts);
    internet.Install(switches);
    for (uint32_t h = 0; h < 2 * n; h++)  // fast enough that nothing is dropped before the bottleneck
      at.push_back(links.Join(hosts.Get(h), switches.Get(h / n), 10 * speed, queue));
    links.Join(switches.Get(0), switches.Get(1), speed, queue);
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  ApplicationContainer sinks, sources;
  const uint32_t count = hosts.GetN(), senders = tree ? count : n;
  Ptr<UniformRandomVariable> random = CreateObject<UniformRandomVariable>();
  for (uint32_t h = 0; h < senders; h++) {
    const uint32_t to = (h + count / 2) % count;
    PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
    sinks.Add(sink.Install(hosts.Get(to)));
    UdpClientHelper client(at[to], 9);
    const double gap = kWire * 8.0 / rate;
    client.SetAttribute("PacketSize", UintegerValue(kPayload));
    client.SetAttribute("Interval", TimeValue(Seconds(gap)));
    client.SetAttribute("MaxPackets", UintegerValue(4000000000u));
    ApplicationContainer c = client.Install(hosts.Get(h));
    c.Start(Seconds(random->GetValue(0, gap)));
    c.Stop(Seconds(seconds));
    sources.Add(c);
  }
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  Simulator::Stop(Seconds(seconds + 0.1));
  Simulator::Run();
  getrusage(RUSAGE_SELF, &after);
  const double cpu = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) + (after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
                     ((after.ru_utime.tv_usec - before.ru_utime.tv_usec) +
                      (after.ru_stime.tv_usec - before.ru_stime.tv_usec)) / 1e6;
  uint64_t received = 0, sent = 0;
  for (uint32_t i = 0; i < sinks.GetN(); i++) received += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx() / kPayload;
  for (uint32_t i = 0; i < sources.GetN(); i++) sent += DynamicCast<UdpClient>(sources.Get(i))->GetTotalTx() / kPayload;
  std::printf("sent %lu received %lu dropped %lu hops %lu cpu %.3f\n", (unsigned long)sent, (unsigned long)received,
              (unsigned long)dropped, (unsigned long)hops, cpu);
  Simulator::Destroy();
  return 0;
}
