# Stands in for the image postgres: does what that does with the files and variables of compose.yaml.
ARG BASE
FROM ${BASE}
RUN apt-get update && apt-get install -y --no-install-recommends postgresql && ln -s /usr/lib/postgresql/*/bin/* /usr/local/bin/
COPY postgres.sh /
ENTRYPOINT ["/postgres.sh"]
