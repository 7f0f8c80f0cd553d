# Two images: the plain one, nothing but the program, as an ordinary user; and, by --target lab, one with a shell and
# tools for labs in which somebody looks around.
FROM golang:1.26.8-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends libcap2-bin
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# --build-arg VERSION=v1.2.3 is what "pfcswitch version" says: the history of the source is not here.
ARG VERSION
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags="-s -w -X pfcswitch/cmd/internal/api.release=$VERSION" -o /out/pfcswitch ./cmd/pfcswitch
# Permitted, not effective: the program raises them itself, and where the container may not have one of them it says so.
# With the effective bit the kernel would refuse to run it.
RUN setcap cap_net_raw,cap_net_admin,cap_bpf=p /out/pfcswitch
RUN mkdir -p /out/run/pfcswitch /out/var/lib/pfcswitch

FROM alpine:3.22.2 AS lab
RUN apk add --no-cache iproute2 ethtool tcpdump
COPY --from=build /out/pfcswitch /usr/bin/pfcswitch
# The host of a lab, which has no switch, is healthy.
HEALTHCHECK --interval=5s --timeout=3s --start-period=5s CMD ["/bin/sh", "-c", "[ ! -d /run/pfcswitch ] || exec /usr/bin/pfcswitch health"]
CMD ["/usr/bin/pfcswitch", "run"]

FROM scratch
COPY --from=build /out/pfcswitch /usr/bin/pfcswitch
COPY --from=build --chown=65532:65532 /out/run /run
COPY --from=build --chown=65532:65532 /out/var /var
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
HEALTHCHECK --interval=5s --timeout=3s --start-period=5s CMD ["/usr/bin/pfcswitch", "health"]
ENTRYPOINT ["/usr/bin/pfcswitch"]
CMD ["run"]
