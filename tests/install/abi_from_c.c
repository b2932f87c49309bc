/* SPDX-License-Identifier: Apache-2.0 */
#include <assay/engine_abi.h>
