-- -*- lua -*-
-- Module file created by spack (https://github.com/spack/spack) on 2026-11-28 20:30:22.201407
--
-- darshan-runtime@3.4.6~apmpi~apmpi_sync~apxc~group_readable_logs~hdf5~lustre~mmap_logs+mpi~parallel-netcdf build_system=autotools log_path=none scheduler=NONE arch=linux-debian12-x86_64/n437bhb
--

whatis([[Name : darshan-runtime]])
whatis([[Version : 3.4.6]])
whatis([[Target : x86_64]])
whatis([[Short description : Darshan (runtime) is a scalable HPC I/O characterization tool designed to capture an accurate picture of application I/O behavior, including properties such as patterns of access within files, with minimum overhead. DarshanRuntime package should be installed on systems where you intend to instrument MPI applications.]])
whatis([[Configure options : --disable-lustre-mod --with-log-path-by-env=DARSHAN_LOG_DIR_PATH --with-mem-align=8 --with-jobid-env=NONE --with-zlib=/usr]])

help([[Name   : darshan-runtime]])
help([[Version: 3.4.6]])
help([[Target : x86_64]])
help()
help([[Darshan (runtime) is a scalable HPC I/O characterization tool designed
to capture an accurate picture of application I/O behavior, including
properties such as patterns of access within files, with minimum
overhead. DarshanRuntime package should be installed on systems where
you intend to instrument MPI applications.]])


depends_on("seatrial/mpich/4.0.2")

prepend_path("PATH", "/opt/seatrial/opt/linux-x86_64/darshan-runtime-3.4.6-n437bhb4t5br3itdqxityzlwybfzzced/bin", ":")
prepend_path("PKG_CONFIG_PATH", "/opt/seatrial/opt/linux-x86_64/darshan-runtime-3.4.6-n437bhb4t5br3itdqxityzlwybfzzced/lib/pkgconfig", ":")
prepend_path("CMAKE_PREFIX_PATH", "/opt/seatrial/opt/linux-x86_64/darshan-runtime-3.4.6-n437bhb4t5br3itdqxityzlwybfzzced/.", ":")
setenv("DARSHAN_RUNTIME_ROOT", "/opt/seatrial/opt/linux-x86_64/darshan-runtime-3.4.6-n437bhb4t5br3itdqxityzlwybfzzced")

