// Code for several CPUs in one plan, and drivers that stand in.

// RUN: %python %S/Inputs/lacking_cpu.py gantry %s %t.lacking.gantry %t.both.gantry
// RUN: gantry plan-text %t.both.gantry | FileCheck %s

// RUN: gantry run %t.both.gantry --fill x=ramp 2>&1 | FileCheck %s --check-prefix=SECOND
// SECOND: gantry: '{{.*}}': kernel 'relu_0' runs on '/job:localhost/replica:0/task:0/device:CPU:0' as code for x86-64-v3; what comes before it in the plan cannot run here: code for {{.*}} (this machine's CPU lacks {{.*}}
// SECOND: y: f32[4] on CPU:0
// SECOND-NEXT: [0. 1. 2. 3.]
// RUN: gantry explain %t.both.gantry | tr '\n' ' ' | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: 1 kernel, driver host: code for {{.+}}, else code for x86-64-v3

// CHECK: plan.code @code0 elf for "x86-64" needs [
// CHECK: plan.code @code1 elf for "x86-64" needs ["x86-64-v3"]
// CHECK: plan.kernel @relu_0
// CHECK-SAME: variants [#plan.variant<"host", code = @code0>, #plan.variant<"host", code = @code1>]

// None of them: refused by name.
// RUN: not gantry run %t.lacking.gantry --fill x=ramp 2>&1 | FileCheck %s --check-prefix=LACKING
// LACKING: gantry: error: {{.*}}this machine's CPU lacks {{.*}}; compile the graph here, or for an older CPU with --target-cpu

// A CPU that is named twice is compiled for once; a name that is missing is told.
// RUN: gantry compile %s --target-cpu=x86-64-v3,x86-64-v3 -o %t.once.gantry
// RUN: gantry plan-text %t.once.gantry | FileCheck %s --check-prefix=ONCE
// ONCE: plan.code @code0
// ONCE-NOT: plan.code
// RUN: not gantry compile %s --target-cpu=x86-64-v3, -o %t.none.gantry 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: gantry: error: --target-cpu=x86-64-v3, lacks a name; it is CPU or a list, best first
// RUN: not gantry compile %s --target-cpu=x86-64-v3,abacus -o %t.none.gantry 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: gantry: error: {{.*}}unknown CPU 'abacus' in --target-cpu; known are native, x86-64-v3, x86-64-v4, aarch64 and LLVM's names
// RUN: not gantry compile %s --target-cpu=zenver4 -o %t.none.gantry 2>&1 | FileCheck %s --check-prefix=MEANT
// MEANT: gantry: error: {{.*}}unknown CPU 'zenver4' in --target-cpu; did you mean 'znver4'? Known are native, x86-64-v3, x86-64-v4, aarch64 and LLVM's names
// RUN: not gantry compile %s --target-cpu=athlon-xp -o %t.none.gantry 2>&1 | FileCheck %s --check-prefix=NARROW
// NARROW: gantry: error: {{.*}}the CPU 'athlon-xp' in --target-cpu has no 64-bit mode, which Gantry's code needs

// What LLVM would use of a CPU and the runtime cannot ask for is not in the code.
// RUN: gantry compile %s --target-cpu=diamondrapids -o %t.next.gantry
// RUN: gantry plan-text %t.next.gantry | FileCheck %s --check-prefix=NEXT
// NEXT: needs ["x86-64-v4", {{.*}}"avx_vnni_int16", {{.*}}"avx512_fp16", {{.*}}]
// NEXT-NOT: {{apx|avx10|amx}}

// Other drivers have to have a target, and devices to stand in at.
// RUN: not gantry compile %s --also=cuda -o %t.none.gantry 2>&1 | FileCheck %s --check-prefix=CUDA
// CUDA: gantry: error: --also=cuda adds nothing: the driver cuda runs all devices of the plan that it can run, or there are none; the devices are /job:localhost/replica:0/task:0/device:CPU:0
// RUN: not gantry compile %s --also=abacus -o %t.none.gantry 2>&1 | FileCheck %s --check-prefix=ABACUS
// ABACUS: gantry: error: no target for driver 'abacus' in --also; this compiler makes code for host, sim, cuda
// RUN: not gantry compile %s --also=sim -o %t.none.gantry 2>&1 | FileCheck %s --check-prefix=SIM
// SIM: gantry: error: --also=sim adds nothing: the driver sim runs all devices of the plan that it can run, or there are none; the devices are /job:localhost/replica:0/task:0/device:CPU:0
func.func @main(%x: tensor<4xf32> {gantry.name = "x"}) -> (tensor<4xf32> {gantry.name = "y"}) {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
