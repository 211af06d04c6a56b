# Stands in for the image haproxy.
ARG BASE
FROM ${BASE}
RUN apt-get update && apt-get install -y --no-install-recommends haproxy
USER haproxy
CMD ["haproxy", "-W", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
