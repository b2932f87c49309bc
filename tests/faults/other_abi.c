/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in that was built for the next major version of the ABI. In C, like the header. */
#include <assay/engine_abi.h>

static const assay_engine_table kTable = {
    .struct_size = sizeof(assay_engine_table), .abi_major = ASSAY_ABI_MAJOR + 1, .abi_minor = 4};

ASSAY_EXPORT const assay_engine_table* assay_engine_get(const assay_host_api* host) {
  (void)host;
  return &kTable;
}
