// What depends on constants alone is computed once, when the plan is loaded: on its device, its copies with it,
// into the memory of constants. The results are those of computing it in each run.
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --simulate -o %t.load.gantry
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --simulate --once=run -o %t.run.gantry
// RUN: gantry run %t.load.gantry -v --fill x=ramp --output output0=%t.load.npy --log-device-placement 2>&1 | FileCheck %s
// RUN: gantry run %t.run.gantry -v --fill x=ramp --output output0=%t.run.npy --log-device-placement 2>&1 | FileCheck %s --check-prefix=EACH
// RUN: cmp %t.load.npy %t.run.npy
// RUN: gantry plan-text %t.load.gantry | FileCheck %s --check-prefix=TEXT

// On the host, and on an emulated GPU.
// RUN: gantry run %s --devices=CPU:0 --fill x=ramp --output output0=%t.host.npy
// RUN: gantry run %s --devices=CPU:0 --fill x=ramp --once=run --output output0=%t.each.npy
// RUN: cmp %t.host.npy %t.each.npy
// RUN: gantry run %s --devices=CPU:0,GPU:0 --emulate --once=run --fill x=ramp --output output0=%t.gpu-each.npy
// RUN: gantry run %s --devices=CPU:0,GPU:0 --emulate -v --fill x=ramp --output output0=%t.gpu.npy 2>&1 | FileCheck %s --check-prefix=EMULATED
// RUN: cmp %t.gpu-each.npy %t.gpu.npy

// RUN: not gantry compile %s --once=never -o %t.gantry 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: --once: expected one of load, run, got 'never'

// CHECK: Executing op RandomUniform in device {{.*}}CPU:0 (once, at load)
// CHECK-NEXT: Executing op MatMul in device {{.*}}CPU:0 (once, at load)
// CHECK-NEXT: Copying 16384 bytes from {{.*}}CPU:0 to {{.*}}GPU:0 (once, at load)
// CHECK-NEXT: Copying 16384 bytes from {{.*}}CPU:0 to {{.*}}GPU:0{{$}}
// CHECK-NEXT: Executing op MatMul in device {{.*}}GPU:0{{$}}
// CHECK-NEXT: Copying 16384 bytes
// CHECK-NEXT: placed 3 ops: GPU:0 1, CPU:0 2; 0 fall-backs; 2 copies per run, 32 KiB (h2d 1, d2h 1); 1 at load
// CHECK: CPU:0: constants 0 bytes, variables 0 bytes, transient 0 bytes
// CHECK: GPU:0 (sim): constants 16 KiB, variables 0 bytes, transient 32 KiB
// CHECK: copies counted as planned: 2 per run, 32 KiB (h2d 1, d2h 1); 1 at load, 16 KiB

// EACH-NOT: at load)
// EACH: copies counted as planned: 3 per run, 48 KiB (h2d 2, d2h 1); 0 at load, 0 bytes

// EMULATED: copies counted as planned: 2 per run, 32 KiB (h2d 1, d2h 1); 1 at load, 16 KiB

// TEXT: plan.arena @transient_d0 transient on @d0 size 0 lower_bound 0 load_size 32768
// TEXT: plan.constant @c0 "{{.*}}" on @d1 in @constants_d1 offset 0 size 16384 : tensor<16384xi8> made 0
// TEXT: plan.func @at_load at_load inputs [] outputs
// TEXT: plan.func @main inputs
module {
  func.func @main(%x: tensor<64x64xf32> {gantry.name = "x"}) -> tensor<64x64xf32> {
    %a = gantry.random_uniform {seed = 7 : i64, low = -1.0 : f64, high = 1.0 : f64, gantry.device = #gantry.device<"CPU:0">} : () -> tensor<64x64xf32>
    %w = gantry.matmul %a, %a {gantry.device = #gantry.device<"CPU:0">} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %y = gantry.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %y : tensor<64x64xf32>
  }
}
