// What is joined in an output is made in its parts: nothing is joined.
// RUN: gantry compile %s --entry=copied --devices=CPU:0,GPU:0 --simulate --stop-after=schedule | FileCheck %s --check-prefix=COPIED
// RUN: gantry compile %s --entry=copied --devices=CPU:0,GPU:0 --simulate --stop-after=schedule --no-reuse | FileCheck %s --check-prefix=ALONE
// RUN: gantry compile %s --entry=made --no-fuse --stop-after=schedule | FileCheck %s --check-prefix=MADE
// RUN: gantry compile %s --entry=twice --no-fuse --stop-after=schedule | FileCheck %s --check-prefix=JOINED
// RUN: gantry compile %s --entry=read --no-fuse --stop-after=schedule | FileCheck %s --check-prefix=JOINED
// RUN: gantry compile %s --entry=unaligned --no-fuse --stop-after=schedule | FileCheck %s --check-prefix=JOINED

// Copies from another device go where their bytes belong, wherever that is.
// COPIED: %[[FIRST:.*]] = plan.output 0 size 12 {gantry.begins = 0 : i64}
// COPIED: %[[SECOND:.*]] = plan.output 0 size 20 {gantry.begins = 12 : i64}
// COPIED-DAG: plan.copy %{{.*}} to %[[FIRST]] on @d1 queue 2
// COPIED-DAG: plan.copy %{{.*}} to %[[SECOND]] on @d1 queue 2
// COPIED-NOT: gantry.joins
// ALONE-NOT: gantry.begins
// ALONE: plan.launch {{.*}}gantry.joins = array<i64: 0, 1>

// Kernels write there, too, where the address is one that they can take.
// MADE: %[[FIRST:.*]] = plan.output 0 size 128 {gantry.begins = 0 : i64}
// MADE: %[[SECOND:.*]] = plan.output 0 size 64 {gantry.begins = 128 : i64}
// MADE-DAG: plan.launch {{.*}} -> (%[[FIRST]])
// MADE-DAG: plan.launch {{.*}} -> (%[[SECOND]])
// MADE-NOT: gantry.joins

// One operand twice, an output that others read, and bytes at an odd place are joined.
// JOINED-NOT: gantry.begins
// JOINED: plan.launch {{.*}}gantry.joins = array<i64: 0, {{[01]}}>

// All give what is asked for.
// RUN: gantry run %s --entry=copied --devices=CPU:0,GPU:0 --simulate --fill ramp --output y=%t.1.npy
// RUN: gantry run %s --entry=copied --no-reuse --fill ramp --output y=%t.2.npy
// RUN: cmp %t.1.npy %t.2.npy
// RUN: gantry run %s --entry=made --fill ramp --output y=%t.1.npy
// RUN: gantry run %s --entry=made --no-reuse --fill ramp --output y=%t.2.npy
// RUN: cmp %t.1.npy %t.2.npy

#cpu = #gantry.device<"CPU:0">
#gpu = #gantry.device<"GPU:0">
func.func @copied(%x: tensor<3xf32> {gantry.name = "x"}, %z: tensor<5xf32> {gantry.name = "z"}) -> (tensor<8xf32> {gantry.name = "y"}) {
  %a = gantry.tanh %x : (tensor<3xf32>) -> tensor<3xf32>
  %b = gantry.tanh %z : (tensor<5xf32>) -> tensor<5xf32>
  %y = gantry.concat %a, %b {axis = 0 : i64, gantry.device = #cpu} : (tensor<3xf32>, tensor<5xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @made(%x: tensor<32xf32> {gantry.name = "x"}, %z: tensor<16xf32> {gantry.name = "z"}) -> (tensor<48xf32> {gantry.name = "y"}) {
  %a = gantry.tanh %x : (tensor<32xf32>) -> tensor<32xf32>
  %b = gantry.tanh %z : (tensor<16xf32>) -> tensor<16xf32>
  %y = gantry.concat %a, %b {axis = 0 : i64} : (tensor<32xf32>, tensor<16xf32>) -> tensor<48xf32>
  return %y : tensor<48xf32>
}
func.func @twice(%x: tensor<32xf32> {gantry.name = "x"}) -> (tensor<64xf32> {gantry.name = "y"}) {
  %a = gantry.tanh %x : (tensor<32xf32>) -> tensor<32xf32>
  %y = gantry.concat %a, %a {axis = 0 : i64} : (tensor<32xf32>, tensor<32xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func @read(%x: tensor<32xf32> {gantry.name = "x"}) -> (tensor<64xf32> {gantry.name = "y"}, tensor<64xf32> {gantry.name = "z"}) {
  %a = gantry.tanh %x : (tensor<32xf32>) -> tensor<32xf32>
  %b = gantry.sigmoid %x : (tensor<32xf32>) -> tensor<32xf32>
  %y = gantry.concat %a, %b {axis = 0 : i64} : (tensor<32xf32>, tensor<32xf32>) -> tensor<64xf32>
  %z = gantry.neg %y : (tensor<64xf32>) -> tensor<64xf32>
  return %y, %z : tensor<64xf32>, tensor<64xf32>
}
func.func @unaligned(%x: tensor<3xf32> {gantry.name = "x"}) -> (tensor<6xf32> {gantry.name = "y"}) {
  %a = gantry.tanh %x : (tensor<3xf32>) -> tensor<3xf32>
  %b = gantry.sigmoid %x : (tensor<3xf32>) -> tensor<3xf32>
  %y = gantry.concat %a, %b {axis = 0 : i64} : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}
