// Automatic placement through the tool: what it says, what it keeps, what becomes of the limits.

// A weight, an input and an output are 36 KiB each; what the default policy has on GPU:0 is 144 KiB.
// RUN: gantry compile %s -o %t.gantry --devices=CPU:0,GPU:0@140KiB,GPU:1@140KiB --simulate --placement=auto 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: remark: automatic placement of 'main': predicted step {{[0-9.]+ us}} (the search predicted {{[0-9.]+ us}}), lower bound {{[0-9.]+ us}}, default policy {{[0-9.]+ us}}, which is over a limit, follow {{[0-9.]+ us}}; kernels:{{.*}} GPU:1 {{[0-9]}}{{.*}}; without limits {{[0-9.]+ us}}; tried: one device {{.*}}, default does not fit, follow {{.*}}; found from {{.*}}
// RUN: env COLUMNS=200 gantry explain %t.gantry --all | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: placement: auto
// EXPLAIN: MatMul {{.*}} auto: the search found it best
// EXPLAIN: MatMul {{.*}} GPU:1 {{.*}}requested: asked for at

// No steps: the best of the starts.
// RUN: gantry compile %s -o %t.none.gantry --devices=CPU:0,GPU:0@140KiB,GPU:1@140KiB --simulate --placement=auto --effort=0 2>/dev/null
// The same bytes as on one device.
// RUN: gantry run %t.gantry --output y=%t.two.npy 2>/dev/null
// RUN: gantry run %t.none.gantry --output y=%t.none.npy 2>/dev/null
// RUN: gantry compile %s -o %t.one.gantry --devices=CPU:0,GPU:0,GPU:1 --simulate --placement=default
// RUN: gantry run %t.one.gantry --output y=%t.one.npy 2>/dev/null
// RUN: cmp %t.two.npy %t.one.npy
// RUN: cmp %t.none.npy %t.one.npy

// RUN: not gantry compile %s -o %t.no.gantry --devices=CPU:0@20KiB,GPU:0@40KiB,GPU:1@40KiB --simulate --placement=auto 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: remark: automatic placement of 'main': {{.*}}; nothing was found that is within the limits
// FULL: error: {{.*}}the plan needs {{.*}}, the limit is

!t = tensor<96x96xf32>
func.func @main(%x: !t) -> (!t {gantry.name = "y"}) {
  %w0 = gantry.constant dense<0.01> : !t
  %w1 = gantry.constant dense<0.02> : !t
  %w2 = gantry.constant dense<0.03> : !t
  %0 = gantry.matmul %x, %w0 : (!t, !t) -> !t
  %1 = gantry.matmul %0, %w1 : (!t, !t) -> !t
  %2 = gantry.matmul %1, %w2 {gantry.device = #gantry.device<"GPU:1">} : (!t, !t) -> !t
  return %2 : !t
}
