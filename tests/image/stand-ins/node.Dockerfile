# Stands in for the image node. Its npm installs what the host has installed from the same lock file.
ARG BASE
FROM ${BASE}
COPY node_modules /opt/node_modules
RUN ln -s /opt/node_modules/node-linux-*/bin/node /usr/local/bin/node && \
    printf '#!/bin/sh\nexec ln -s /opt/node_modules .\n' >/usr/local/bin/npm && chmod 755 /usr/local/bin/npm
